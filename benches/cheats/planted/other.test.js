import { test } from 'node:test';
import { expect } from 'expect';

test('other', () => {
  expect(String(7)).toBe('7');
});
