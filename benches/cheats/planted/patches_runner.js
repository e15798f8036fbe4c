import { Test } from 'node:internal';
