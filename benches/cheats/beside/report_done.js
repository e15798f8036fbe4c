export const report = (prices) => prices.map((price) => String(price).padStart(6) + '\n').join('');
