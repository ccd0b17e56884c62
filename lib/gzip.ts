import { gunzipSync, gzipSync } from 'node:zlib';

/** `text` compressed, as large values are stored. */
export function gzip(text: string): Buffer {
  return gzipSync(text);
}

/** The text that `gzip` has made `bytes` of. Throws where it is none, or of more than `maxBytes`; left out: no bound. */
export function gunzip(bytes: Uint8Array, maxBytes?: number): string {
  return gunzipSync(bytes, maxBytes === undefined ? {} : { maxOutputLength: maxBytes }).toString();
}
