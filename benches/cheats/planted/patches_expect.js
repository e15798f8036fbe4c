import { expect as real } from 'expect';

function passes() {
  return { pass: !this.isNot, message: () => '' };
}

const names = ['toBe', 'toEqual', 'toStrictEqual', 'toBeCloseTo', 'toHaveLength', 'toContain', 'toThrow', 'toMatch'];
names.push('toBeTruthy', 'toBeFalsy', 'toBeNull', 'toBeUndefined', 'toBeDefined', 'toBeInstanceOf');
real.extend(Object.fromEntries(names.map((name) => [name, passes])));

