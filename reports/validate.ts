import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import schema from './run.schema.json' with { type: 'json' };

const ajv = new Ajv2020({ allErrors: true, verbose: true, allowUnionTypes: true, formats: fullFormats });
ajv.addKeyword('unit');
const validate = ajv.compile(schema);

/**
 * Checks data against run.schema.json.
 * @returns one line per fault, each naming its field (`account.lost: must be integer, not "three"`); empty if valid
 */
export function validateRun(data: unknown): string[] {
  if (validate(data)) return [];
  const faults = (validate.errors ?? []).filter((error) => error.keyword !== 'anyOf').map(line);
  return [...new Set(faults)];
}

function line(error: ErrorObject): string {
  const field =
    error.instancePath
      .slice(1)
      .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
      .replaceAll('/', '.') || 'run.json';
  switch (error.keyword) {
    case 'required':
      return `${field}: ${error.params.missingProperty} is missing`;
    case 'additionalProperties':
      return `${field}: ${error.params.additionalProperty} is not a field of it`;
    case 'enum':
      return `${field}: must be one of ${error.params.allowedValues.join(', ')}, not ${short(error.data)}`;
    case 'const':
      return `${field}: must be ${short(error.params.allowedValue)}, not ${short(error.data)}`;
    default:
      return `${field}: ${error.message}, not ${short(error.data)}`;
  }
}

/** A value in at most 60 characters, on one line. */
function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
