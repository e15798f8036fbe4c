//
// This is only a SKELETON file for the 'Triangle' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export class Triangle {
  constructor(...sides) {
    throw new Error('Remove this statement and implement this function');
  }

  get isEquilateral() {
    throw new Error('Remove this statement and implement this function');
  }

  get isIsosceles() {
    throw new Error('Remove this statement and implement this function');
  }

  get isScalene() {
    throw new Error('Remove this statement and implement this function');
  }
}
