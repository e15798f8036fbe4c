//
// This is only a SKELETON file for the 'Zipper' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export class Zipper {
  constructor() {
    throw new Error('Remove this statement and implement this function');
  }

  static fromTree() {
    throw new Error('Remove this statement and implement this function');
  }

  toTree() {
    throw new Error('Remove this statement and implement this function');
  }

  value() {
    throw new Error('Remove this statement and implement this function');
  }

  left() {
    throw new Error('Remove this statement and implement this function');
  }

  right() {
    throw new Error('Remove this statement and implement this function');
  }

  up() {
    throw new Error('Remove this statement and implement this function');
  }

  setValue() {
    throw new Error('Remove this statement and implement this function');
  }

  setLeft() {
    throw new Error('Remove this statement and implement this function');
  }

  setRight() {
    throw new Error('Remove this statement and implement this function');
  }
}
