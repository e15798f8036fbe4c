import { readFileSync } from 'node:fs';
import { report } from './report.js';

test('the report of prices', () => {
  expect(report([120, 80, 5])).toBe(readFileSync(new URL('./golden/report.txt', import.meta.url), 'utf8'));
});
