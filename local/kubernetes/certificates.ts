import { generate } from 'selfsigned';

export interface Certificates {
  /** Of the authority, which clients are to trust. */
  readonly caPem: string;
  readonly certificatePem: string;
  readonly keyPem: string;
}

const HOUR_MS = 3_600_000;

/** Certificates for the loopback address, of an authority that exists for them alone: its key is thrown away. */
export async function makeCertificates(): Promise<Certificates> {
  // TLS goes by the machine's time, whatever the clock of the simulation says.
  const now = Date.now();
  const validity = { notBeforeDate: new Date(now - HOUR_MS), notAfterDate: new Date(now + 365 * 24 * HOUR_MS) };
  const kind = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256', ...validity } as const;
  const authority = await generate([{ name: 'commonName', value: 'kubernetes' }], {
    ...kind,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: 'commonName', value: 'kube-apiserver' }], {
    ...kind,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { caPem: authority.cert, certificatePem: server.cert, keyPem: server.private };
}
