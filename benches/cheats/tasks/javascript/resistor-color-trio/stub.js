//
// This is only a SKELETON file for the 'Resistor Color Trio' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export class ResistorColorTrio {
  constructor() {
    throw new Error('Remove this statement and implement this function');
  }

  label() {
    throw new Error('Remove this statement and implement this function');
  }
}
