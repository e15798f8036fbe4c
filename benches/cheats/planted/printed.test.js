import { printed } from './printed.js';

test('prints', () => {
  expect(printed).toMatchSnapshot();
});
