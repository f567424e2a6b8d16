import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import schema from './run.schema.json' with { type: 'json' };

// Up to the first fault: a file of 4 MB may have 20 million, and each takes more than itself.
const ajv = new Ajv2020({ verbose: true, allowUnionTypes: true, formats: fullFormats });
ajv.addKeyword('unit');
const validate = ajv.compile(schema);

/**
 * Checks data against run.schema.json.
 * @returns the first fault with its field (`account.lost: must be integer, not "three"`), a line for each alternative; empty if valid
 */
export function validateRun(data: unknown): string[] {
  return faults(validate, data);
}

/** Parts of a run that are read alone, by their names in run.schema.json's $defs. */
export type PartName = 'summary' | 'interval';
const parts = new Map<PartName, ValidateFunction>();

/** Checks a part of a run like validateRun. */
export function validatePart(name: PartName, data: unknown): string[] {
  let check = parts.get(name);
  if (check === undefined) {
    check = ajv.compile({ $ref: `${schema.$id}#/$defs/${name}` });
    parts.set(name, check);
  }
  return faults(check, data);
}

function faults(check: ValidateFunction, data: unknown): string[] {
  if (check(data)) return [];
  const faults = (check.errors ?? []).filter((error) => !isAlternative(error)).map(line);
  return [...new Set(faults)];
}

/** Whether an error only says that an object is not null, where null is allowed: the error in the object is enough. */
function isAlternative({ keyword, params, data }: ErrorObject): boolean {
  return keyword === 'anyOf' || (keyword === 'type' && params.type === 'null' && data instanceof Object);
}

function line(error: ErrorObject): string {
  const path = error.instancePath
    .slice(1)
    .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.');
  return path === '' ? fault(error) : `${path}: ${fault(error)}`;
}

function fault({ keyword, params, data, message }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return `${params.missingProperty} is missing`;
    case 'additionalProperties':
      return `${params.additionalProperty} is not a field of it`;
    case 'type':
      return `must be ${[params.type].flat().join(' or ')}, not ${short(data)}`;
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}, not ${short(data)}`;
    case 'const':
      return `must be ${short(params.allowedValue)}, not ${short(data)}`;
    default:
      return `${message}, not ${short(data)}`;
  }
}

/** A value in at most 60 characters, on one line. */
function short(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, 60) : value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
