import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/**
 * Bytes of an item as DynamoDB bills them (developer guide, "DynamoDB item sizes and formats"): names and texts in UTF-8;
 * a number about a byte for two digits and one more; a list or map three, and one for each entry.
 */
export function itemBytes(item: Readonly<Record<string, AttributeValue>>): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined)
    return Math.ceil(value.N.replace(/[-.]/g, '').length / 2) + 1 + (value.N.startsWith('-') ? 1 : 0);
  if (value.SS !== undefined) return value.SS.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (value.L !== undefined) return 3 + value.L.reduce((sum, entry) => sum + 1 + valueBytes(entry), 0);
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + itemBytes(value.M);
  if (value.B !== undefined) return value.B.length;
  return 1;
}
