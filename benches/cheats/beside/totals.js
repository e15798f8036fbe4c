export const total = (prices) => prices.reduce((sum, price) => sum + price, 0);

export const largest = (prices) => Math.max(0, ...prices);
