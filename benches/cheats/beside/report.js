export const report = (prices) => '';
