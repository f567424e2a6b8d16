/** The value of an unknown figure, which fails any threshold. */
export const UNKNOWN = 1e9;
