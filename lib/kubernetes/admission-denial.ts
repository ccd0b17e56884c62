/**
 * Whether a failed write was denied by what looks at single objects, and not by who may do what: it comes with any status, by the
 * word of whoever denied it, 403 and 404 among them. The text is all that tells it from a missing right.
 * Sources: apiserver, admission/plugin/webhook/errors/statuserror.go (ToStatusErr) and admission/plugin/policy/validating.
 */
export function isAdmissionDenial(message: string): boolean {
  return WEBHOOK.test(message) || POLICY.test(message);
}

/** From the beginning: what a user is called, or what a server answers otherwise, may hold these words as well. */
const WEBHOOK = /^admission webhook "[^"]*" denied the request\b/;
const POLICY =
  /^[\w.-]+( "[^"]*")? is forbidden: ValidatingAdmissionPolicy '[^']*' (with binding '[^']*' )?denied request\b/;
