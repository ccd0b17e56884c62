import type { Provider } from '../scaler/ports.ts';

/** A cluster whose machines are nobody's to order or to end: everything is done by doing nothing. */
export const minikube: Provider = {
  capabilities: { readsSize: false, changesSize: false },
  validate: async () => ({ problems: [], warnings: [] }),
  describe: async () => undefined,
  inspect: async () => undefined,
  locate: async () => new Map(),
  increase: async () => undefined,
  endMachine: async () => undefined,
};
