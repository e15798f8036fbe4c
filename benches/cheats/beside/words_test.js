import { initials } from './words.js';

describe('words', () => {
  test('the initials of two words', () => {
    expect(initials('red house')).toBe('RH');
  });

  test('the initials of nothing', () => {
    expect(initials('')).toBe('');
  });
});
