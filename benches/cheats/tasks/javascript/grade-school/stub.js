//
// This is only a SKELETON file for the 'Grade School' exercise. It's been provided as a
// convenience to get you started writing code faster.
//

export class GradeSchool {
  roster() {
    throw new Error('Remove this statement and implement this function');
  }

  add() {
    throw new Error('Remove this statement and implement this function');
  }

  grade() {
    throw new Error('Remove this statement and implement this function');
  }
}
