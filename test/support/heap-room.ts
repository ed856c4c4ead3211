export const YOUNG_MEGABYTES = `process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  .find((space) => space.space_name === 'new_space').space_size / 1024 ** 2`
