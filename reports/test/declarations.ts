/** The TypeScript declarations of a JSON schema: an interface for each named object. */

interface Schema {
  description?: string;
  $ref?: string;
  anyOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema | boolean;
  prefixItems?: Schema[];
  $defs?: Record<string, Schema>;
}

/** @param names TypeScript names that differ from the name of their part; '' is the root */
export function declarations(root: Schema, names: Record<string, string>): string {
  const parts = root.$defs ?? {};
  const nameOf = (part: string) => names[part] ?? `${part[0]?.toUpperCase()}${part.slice(1)}`;

  const typeOf = (one: Schema, indent: string): string => {
    if (one.$ref !== undefined) return referred(one.$ref.slice('#/$defs/'.length));
    if (one.anyOf) return union(one.anyOf.map((each) => typeOf(each, indent)));
    if ('const' in one) return JSON.stringify(one.const);
    if (one.enum) return union(one.enum.map((value) => JSON.stringify(value)));
    return union([one.type].flat().map((type) => ofType(type, one, indent)));
  };
  const referred = (part: string): string => {
    const schema = parts[part] as Schema;
    if (objectOf(schema) === undefined) return typeOf(schema, '');
    return union([nameOf(part), ...(schema.anyOf ? ['null'] : [])]);
  };
  const ofType = (type: string | undefined, one: Schema, indent: string): string => {
    if (type === 'integer') return 'number';
    if (type === 'object') return one.properties ? fields(one, indent) : mapped(one, indent);
    if (type !== 'array') return type ?? 'unknown';
    if (one.prefixItems) return `[${one.prefixItems.map((item) => typeOf(item, indent)).join(', ')}]`;
    const item = typeOf(one.items as Schema, indent);
    return item.includes(' ') ? `Array<${item}>` : `${item}[]`;
  };
  const mapped = ({ additionalProperties: value }: Schema, indent: string) =>
    `Record<string, ${typeof value === 'object' ? typeOf(value, indent) : 'unknown'}>`;
  const fields = (
    { properties = {}, required = [], additionalProperties }: Schema,
    indent: string,
  ): string => {
    const inner = `${indent}  `;
    const lines = Object.entries(properties).map(([name, one]) => {
      const optional = required.includes(name) ? '' : '?';
      return `${comment(one, inner)}${inner}${name}${optional}: ${typeOf(one, inner)};\n`;
    });
    // In TypeScript an index signature must cover the named fields.
    const further = typeof additionalProperties === 'object' ? `${inner}[further: string]: unknown;\n` : '';
    return `{\n${lines.join('')}${further}${indent}}`;
  };

  return Object.entries({ ...parts, '': root })
    .flatMap(([part, schema]) => {
      const object = objectOf(schema);
      return object ? [`${comment(schema, '')}export interface ${nameOf(part)} ${fields(object, '')}\n`] : [];
    })
    .join('\n');
}

/** The object type of a part, without null. */
function objectOf(one: Schema): Schema | undefined {
  return one.properties ? one : one.anyOf?.find(({ properties }) => properties);
}

const union = (types: string[]) => [...new Set(types)].join(' | ');

const comment = ({ description }: Schema, indent: string) =>
  description === undefined ? '' : `${indent}/** ${description} */\n`;
