import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * Where a function's clients find their credentials, in place of the SDK's own search (`infra/bundling.ts`): Lambda hands
 * them over in the environment and nowhere else. The search would look into files, profiles, sign-ons and metadata
 * services, and is a fifth of a bundle, read at every cold start.
 */
export const defaultProvider = fromEnv;
