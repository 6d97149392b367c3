// Numbers behind a chart: smoothing, ranges, the point next to a place. No DOM, no library.

/** Index of the x nearest to `at` in an ascending column, or -1 for an empty one. */
export function nearest(x, at) {
  let low = 0;
  let high = x.length - 1;
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low > 0 && at - x[low - 1] <= x[low] - at ? low - 1 : low;
}

/** How far two logged points lie apart on the axis, also where points were left out between them. */
export function spacing({ step, x }) {
  const n = step.length;
  if (n < 2) return 1;
  let least = Infinity;
  for (let i = 1; i < n; i += 1) least = Math.min(least, step[i] - step[i - 1] || Infinity);
  const logged = Math.max(1, (step[n - 1] - step[0]) / least);
  return (x[n - 1] - x[0]) / logged || 1;
}

/**
 * Exponential moving mean, `weight` a logged point, 0 to below 1, without the pull of its start. A
 * point that stands for a longer stretch weighs more, so a thinned line is smoothed as the whole
 * one is. Gaps stay gaps.
 */
export function smoothed({ x, y }, weight, apart) {
  let sum = 0;
  let total = 0;
  let before = null;
  return y.map((value, i) => {
    if (value === null) return null;
    const kept = weight ** (before === null ? 1 : Math.max(0, (x[i] - before) / apart));
    before = x[i];
    sum = sum * kept + value * (1 - kept);
    total = total * kept + (1 - kept);
    return total > 0 ? sum / total : value;
  });
}

/** Least and largest of the finite values whose x lies in the window; above zero for a log scale. */
export function extent(columns, { from = -Infinity, to = Infinity, isLog = false } = {}) {
  let low = Infinity;
  let high = -Infinity;
  for (const { x, y } of columns) {
    for (let i = 0; i < y.length; i += 1) {
      const value = y[i];
      if (value === null || x[i] < from || x[i] > to || (isLog && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/** A range with some air, as the library wants it: exponents for a log scale. */
export function padded(range, isLog) {
  if (!range) return isLog ? [-1, 1] : [0, 1];
  const [low, high] = isLog ? range.map(Math.log10) : range;
  const air = (high - low) * 0.06 || (isLog ? 0.5 : Math.abs(high) * 0.1 || 0.5);
  return [low - air, high + air];
}

export function shortNumber(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en-US").replace("-", "−");
  const size = Math.abs(value);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  const text = size >= 1e-4 && size < 1e6 ? value.toFixed(Math.min(8, digits)) : value.toExponential(2);
  return text.replace("-", "−");
}
