import { gunzipSync, gzipSync } from 'node:zlib';

/** `text` compressed, as large values are stored. */
export function gzip(text: string): Buffer {
  return gzipSync(text);
}

/** The text that `gzip` has made `bytes` of. */
export function gunzip(bytes: Uint8Array): string {
  return gunzipSync(bytes).toString();
}
