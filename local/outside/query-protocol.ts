import type { AwsProtocol } from './aws-server.ts';
import { ServiceError } from './service-error.ts';

/** The Query protocol of AWS as far as Auto Scaling's requests use it: a form goes in, XML comes out. */

/** The parameters of a request. Lists are `Name.member.1`, structures `Name.Field`. */
export class QueryForm {
  readonly #values: URLSearchParams;

  constructor(body: string) {
    this.#values = new URLSearchParams(body);
  }

  optional(name: string): string | undefined {
    return this.#values.get(name) ?? undefined;
  }

  required(name: string): string {
    const value = this.optional(name);
    if (value === undefined || value === '') {
      const field = name.charAt(0).toLowerCase() + name.slice(1);
      const message = `1 validation error detected: Value null at '${field}' failed to satisfy constraint: Member must not be null`;
      throw new ServiceError('ValidationError', message);
    }
    return value;
  }

  /** A whole number. */
  integer(name: string): number | undefined {
    const value = this.optional(name);
    if (value === undefined) return undefined;
    if (!/^-?\d+$/.test(value))
      throw new ServiceError('MalformedInput', `${name} is ${value}, expected a whole number`);
    return Number(value);
  }

  boolean(name: string): boolean | undefined {
    const value = this.optional(name);
    if (value === undefined) return undefined;
    if (value !== 'true' && value !== 'false') {
      throw new ServiceError('MalformedInput', `${name} is ${value}, expected true or false`);
    }
    return value === 'true';
  }

  /** Undefined: the list is not there. */
  list(name: string): readonly string[] | undefined {
    const values: string[] = [];
    for (let at = 1; ; at += 1) {
      const value = this.optional(`${name}.member.${at}`);
      if (value === undefined) return values.length > 0 || this.#values.has(name) ? values : undefined;
      values.push(value);
    }
  }
}

const NAMESPACE = 'http://autoscaling.amazonaws.com/doc/2011-01-01/';

export const QUERY_ANSWERS: Omit<AwsProtocol, 'read'> = {
  contentType: 'text/xml',
  body: (operation, requestId, answer) =>
    `<${operation}Response xmlns="${NAMESPACE}">${xml(`${operation}Result`, answer ?? {})}` +
    `${xml('ResponseMetadata', { RequestId: requestId })}</${operation}Response>`,
  errorBody: ({ code, message, status }, requestId) =>
    `<ErrorResponse xmlns="${NAMESPACE}">` +
    xml('Error', { Type: status < 500 ? 'Sender' : 'Receiver', Code: code, Message: message }) +
    `${xml('RequestId', requestId)}</ErrorResponse>`,
};

/** Lists are written as `<member>`s, what is undefined not at all. */
function xml(name: string, value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return `<${name}>${value.map((item) => xml('member', item)).join('')}</${name}>`;
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    const fields = Object.entries(value).map(([field, one]) => xml(field, one));
    return `<${name}>${fields.join('')}</${name}>`;
  }
  return `<${name}>${escaped(value instanceof Date ? value.toISOString() : String(value))}</${name}>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
