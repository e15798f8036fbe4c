//
// This is only a SKELETON file for the 'Wordy' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export const answer = () => {
  throw new Error('Remove this statement and implement this function');
};
