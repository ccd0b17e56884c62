/** What `once` needs of a command of the SDK. */
interface Retried {
  readonly middlewareStack: {
    add(
      middleware: (next: (request: never) => Promise<unknown>) => (request: never) => Promise<unknown>,
      options: { name: string; step: 'finalizeRequest'; priority: 'high'; override: true },
    ): void;
  };
}

/**
 * `command`, sent one time and no more, whatever its client does with others: the SDK sends again what is answered with
 * 5xx or not at all. It has no option for it by command, so the part that sends again is replaced by one that passes on.
 */
export function once<C extends Retried>(command: C): C {
  command.middlewareStack.add((next) => (request) => next(request), {
    name: 'retryMiddleware',
    step: 'finalizeRequest',
    priority: 'high',
    override: true,
  });
  return command;
}
