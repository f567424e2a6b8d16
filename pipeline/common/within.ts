/** The answer to `question` within `withinMs`, else undefined: a health probe must not hang. */
export async function within<T>(withinMs: number, question: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, withinMs, undefined);
  });
  return Promise.race([question.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
