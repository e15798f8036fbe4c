//
// This is only a SKELETON file for the 'Variable Length Quantity' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export const encode = () => {
  throw new Error('Remove this statement and implement this function');
};

export const decode = () => {
  throw new Error('Remove this statement and implement this function');
};
