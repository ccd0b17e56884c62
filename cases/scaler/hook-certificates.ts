import { generate } from 'selfsigned';

export interface HookCertificates {
  /** Of the authority that signed it, PEM. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface CertificateWish {
  /** Names and addresses that it is valid for. Default: localhost and 127.0.0.1. */
  readonly hosts?: readonly string[];
  /** Hours from now that it is valid until; negative: it has expired. Default: 24. */
  readonly hours?: number;
}

const HOUR_MS = 3_600_000;

/** A certificate for a hook, of an authority that exists for it alone. */
export async function hookCertificates(wish: CertificateWish = {}): Promise<HookCertificates> {
  const { hosts = ['localhost', '127.0.0.1'], hours = 24 } = wish;
  // TLS goes by the machine's time.
  const now = Date.now();
  const kind = {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - 48 * HOUR_MS),
  } as const;
  const authority = await generate([{ name: 'commonName', value: 'authority of a hook' }], {
    ...kind,
    notAfterDate: new Date(now + 48 * HOUR_MS),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const hook = await generate([{ name: 'commonName', value: 'hook' }], {
    ...kind,
    notAfterDate: new Date(now + hours * HOUR_MS),
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: hosts.map((host) => (/^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host })),
      },
    ],
  });
  return { ca: authority.cert, cert: hook.cert, key: hook.private };
}
