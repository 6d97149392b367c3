// The bar of a board: how all its panels are looked at.

const METRIC = "metric:";

export class Bar {
  /**
   * Changes `settings` and tells it: `changed()` what only draws otherwise, `asked()` what must be
   * asked of the server anew, `rescaled()` a new y scale, `unzoom()` the button that ends a zoom.
   */
  constructor(form, { settings, changed, asked, rescaled, unzoom }) {
    Object.assign(this, { form, settings, changed, asked, rescaled });
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const kind of ["input", "change"]) form.addEventListener(kind, ({ target }) => this.#take(target));
    this.reset = form.querySelector("[data-reset-zoom]");
    this.reset.addEventListener("click", unzoom);
  }

  show({ isZoomed }) {
    const { axis, smooth, isLog, hasOlder } = this.settings;
    const { axis: select, metric, smooth: slider, log, older } = this.form.elements;
    const isListed = [...select.options].some((option) => option.value === axis);
    select.value = isListed ? axis : METRIC;
    metric.hidden = isListed;
    if (!isListed && document.activeElement !== metric) metric.value = axis.slice(METRIC.length);
    slider.value = smooth;
    this.form.querySelector("[data-smooth-value]").textContent = smooth ? String(smooth) : "off";
    log.checked = isLog;
    older.checked = hasOlder;
    this.reset.hidden = !isZoomed;
  }

  /** Keys to choose from where a metric is the x axis. */
  offer(keys) {
    const { list } = this.form.elements.metric;
    if (list && list.options.length !== keys.size) list.replaceChildren(...[...keys].map((key) => new Option(key, key)));
  }

  #take(field) {
    const { settings } = this;
    const change = {
      axis: () => this.#takeAxis(field),
      metric: () => this.#takeAxis(field),
      smooth: () => { settings.smooth = Number(field.value); this.changed(); },
      log: () => { settings.isLog = field.checked; this.rescaled(); },
      older: () => { settings.hasOlder = field.checked; this.asked(); },
    };
    change[field.name]?.();
  }

  #takeAxis(field) {
    const { axis: select, metric } = this.form.elements;
    const key = metric.value.trim();
    metric.hidden = select.value !== METRIC;
    if (!metric.hidden && !key) { metric.focus(); return; }
    const axis = metric.hidden ? select.value : METRIC + key;
    // A key that is being typed is asked for when it is whole.
    if (axis === this.settings.axis || (field === metric && !isWhole(metric))) return;
    Object.assign(this.settings, { axis, window: null });
    this.asked();
  }
}

function isWhole(field) {
  return document.activeElement !== field || [...(field.list?.options ?? [])].some((option) => option.value === field.value);
}
