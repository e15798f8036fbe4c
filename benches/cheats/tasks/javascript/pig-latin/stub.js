//
// This is only a SKELETON file for the 'Pig Latin' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export const translate = () => {
  throw new Error('Remove this statement and implement this function');
};
