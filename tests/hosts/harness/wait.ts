// Waiting for something that another process does: looked at again and again, up to a limit that only a hang reaches.

/** Resolves with what `look` finds, once it finds something. */
export async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>, limitMs = 240_000): Promise<T> {
  const ends = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > ends) throw new Error(`waited ${limitMs / 1000} s in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
