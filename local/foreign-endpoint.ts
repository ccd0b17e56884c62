/**
 * The URL of a service that somebody else started, if it can be one.
 *
 * @throws Error naming `variable` when it is no URL, or is AWS itself: there one deploys, and pays
 */
export function checkEndpoint(variable: string, endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(`${variable} is ${JSON.stringify(endpoint)}; expected a URL such as http://127.0.0.1:8000`);
  }
  if (/(^|\.)amazonaws\.com(\.cn)?$/.test(url.hostname)) {
    throw new Error(
      `${variable} is ${endpoint}, which is AWS itself; the local engine works with services on your machine. ` +
        'Unset it, or deploy with "npx cdk deploy"',
    );
  }
  return url.href.replace(/\/$/, '');
}
