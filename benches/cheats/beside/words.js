export const initials = (text) => text.split(' ').map((word) => word.slice(0, 1).toUpperCase()).join('');
