import { largest, total } from './totals.js';

describe('totals', () => {
  test('the total of prices', () => {
    expect(total([120, 80, 50])).toBe(250);
  });

  test('the total of nothing', () => {
    expect(total([])).toBe(0);
  });

  test('the largest of prices', () => {
    expect(largest([120, 80, 50])).toBe(120);
  });

  test('the largest of nothing', () => {
    expect(largest([])).toBe(0);
  });
});
