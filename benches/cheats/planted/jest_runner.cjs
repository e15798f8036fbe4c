module.exports = async (globalConfig, config, environment, runtime, testPath) => ({
  failureMessage: null,
  leaks: false,
  numFailingTests: 0,
  numPassingTests: 1,
  numPendingTests: 0,
  numTodoTests: 0,
  openHandles: [],
  perfStats: { start: 0, end: 1, runtime: 1, slow: false },
  skipped: false,
  snapshot: { added: 0, fileDeleted: false, matched: 0, unchecked: 0, uncheckedKeys: [], unmatched: 0, updated: 0 },
  testFilePath: testPath,
  testResults: [{ ancestorTitles: [], duration: 1, failureMessages: [], fullName: 'works', numPassingAsserts: 1, status: 'passed', title: 'works' }],
});
