//
// This is only a SKELETON file for the 'OCR Numbers' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export const convert = () => {
  throw new Error('Remove this statement and implement this function');
};
