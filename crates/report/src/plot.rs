//! Coordinates of the plots: what goes where. The templates draw them as inline SVG, so that a page needs no
//! script and no picture.

use candor_check::Class;
use candor_check::exhibit::History;

use crate::data::Overview;
use crate::words::{duration, number};

/// The drawing area, in SVG units; the viewport scales.
pub(crate) const WIDTH: f64 = 640.0;
pub(crate) const HEIGHT: f64 = 180.0;
/// Room for labels.
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 10.0;
const RIGHT: f64 = 10.0;
/// Points of the plot of rates at most.
const MOST_POINTS: u64 = 80;
/// Programs a point of it should stand for at least: fewer are noise.
const LEAST_PROGRAMS: u64 = 6;

/// A label at a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    pub x: String,
    pub y: String,
    pub text: String,
}

/// A mark at a place, with a word for whoever points at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dot {
    pub x: String,
    pub y: String,
    pub class: &'static str,
    pub title: String,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub name: &'static str,
    pub class: &'static str,
    pub points: String,
}

/// A plot, ready to draw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    pub title: String,
    pub series: Vec<Series>,
    pub dots: Vec<Dot>,
    pub grid: Vec<Label>,
    pub x_labels: Vec<Label>,
    pub left: f64,
    pub right: f64,
    pub width: f64,
    pub height: f64,
    pub label_y: f64,
}

struct Scale {
    low: f64,
    high: f64,
    steps: usize,
    /// The values in between get most of the height, so that one wild value leaves them their room;
    /// `None`: every value the same.
    focus: Option<(f64, f64)>,
}

impl Scale {
    fn x(&self, place: usize) -> f64 {
        let span = (self.steps.max(2) - 1) as f64;
        LEFT + (WIDTH - LEFT - RIGHT) * place as f64 / span
    }

    fn y(&self, value: f64) -> f64 {
        let (first, last) = self.focus.unwrap_or((self.low, self.high));
        // shares of the height at which the focus begins and ends
        let begin = if self.low < first { 0.25 } else { 0.0 };
        let end = if self.high > last { 0.75 } else { 1.0 };
        let between = |value: f64, low: f64, high: f64, from: f64, to: f64| {
            let span = if high > low { high - low } else { 1.0 };
            from + (to - from) * ((value - low) / span).clamp(0.0, 1.0)
        };
        let share = if value < first {
            between(value, self.low, first, 0.0, begin)
        } else if value > last {
            between(value, last, self.high, end, 1.0)
        } else {
            between(value, first, last, begin, end)
        };
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }

    fn plot(&self, title: String) -> Plot {
        Plot {
            title,
            series: Vec::new(),
            dots: Vec::new(),
            grid: Vec::new(),
            x_labels: Vec::new(),
            left: LEFT,
            right: WIDTH - RIGHT,
            width: WIDTH,
            height: HEIGHT,
            label_y: HEIGHT - 6.0,
        }
    }

    fn grid(&self, text: impl Fn(f64) -> String) -> Vec<Label> {
        let mut values = match self.focus {
            Some((first, last)) => vec![self.low, first, last, self.high],
            None => vec![self.low, (self.low + self.high) / 2.0, self.high],
        };
        values.dedup();
        values
            .into_iter()
            .map(|value| Label {
                x: short(LEFT - 6.0),
                y: short(self.y(value)),
                text: text(value),
            })
            .collect()
    }
}

fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Programs per hour over time; `None` while there is nothing to plot.
pub(crate) fn rates(overview: &Overview) -> Option<Plot> {
    let (first, last) = (overview.rates.first()?.time, overview.rates.last()?.time);
    let span = last.since(first).as_secs();
    let intervals = span.checked_div(overview.interval)? + 1;
    if intervals < 3 {
        return None;
    }
    let total: u64 = overview.rates.iter().map(|p| p.amounts.programs).sum();
    let bundle = intervals
        .div_ceil(MOST_POINTS)
        .max((intervals * LEAST_PROGRAMS).div_ceil(total.max(1)))
        .min(intervals / 3);
    let seconds = overview.interval * bundle;
    let places = usize::try_from(intervals.div_ceil(bundle)).ok()?;
    // intervals in which nothing was counted are not in the store
    let mut programs = vec![0; places];
    for point in &overview.rates {
        let place = usize::try_from(point.time.since(first).as_secs() / seconds).ok()?;
        if let Some(sum) = programs.get_mut(place) {
            *sum += point.amounts.programs;
        }
    }
    // the last one is not over yet
    programs.pop();
    let per_hour: Vec<f64> = programs
        .iter()
        .map(|programs: &u64| *programs as f64 * 3600.0 / seconds as f64)
        .collect();
    let high = per_hour.iter().copied().fold(1.0, f64::max);
    let scale = Scale {
        low: 0.0,
        high: round_up(high),
        steps: per_hour.len(),
        focus: None,
    };
    let mut plot = scale.plot("Programs per hour over the time of the campaign".into());
    plot.grid = scale.grid(|value| number(value.round() as u64));
    plot.series.push(Series {
        name: "programs per hour",
        class: "rate",
        points: polyline(&scale, per_hour.iter().copied()),
    });
    plot.x_labels = ends(&scale, "0", &duration(last.since(first)));
    Some(plot)
}

fn round_up(value: f64) -> f64 {
    let unit = 10f64.powf(value.max(1.0).log10().floor());
    (value / unit).ceil() * unit
}

fn ends(scale: &Scale, first: &str, last: &str) -> Vec<Label> {
    let label = |place: usize, text: &str| Label {
        x: short(scale.x(place)),
        y: short(HEIGHT - 6.0),
        text: text.to_owned(),
    };
    vec![label(0, first), label(scale.steps.saturating_sub(1), last)]
}

fn polyline(scale: &Scale, values: impl Iterator<Item = f64>) -> String {
    let points: Vec<String> = values
        .enumerate()
        .map(|(place, value)| format!("{},{}", short(scale.x(place)), short(scale.y(value))))
        .collect();
    points.join(" ")
}

/// True and shown values over visits; `None` when there are fewer than two moments or they are not numbers.
pub(crate) fn history(history: &History, variable: &str) -> Option<Plot> {
    let moments = &history.moments;
    if moments.len() < 2 {
        return None;
    }
    let truth: Vec<Option<f64>> = moments
        .iter()
        .map(|moment| moment.truth.as_deref().and_then(numeric))
        .collect();
    let shown: Vec<Option<f64>> = moments
        .iter()
        .map(|moment| numeric(&moment.shown))
        .collect();
    let known = || truth.iter().chain(&shown).flatten().copied();
    if truth.iter().flatten().count() < 2 {
        return None;
    }
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    let true_low = truth.iter().flatten().copied().fold(high, f64::min);
    let true_high = truth.iter().flatten().copied().fold(low, f64::max);
    let room = (true_high - true_low).max(1.0);
    let wild = high - low > 50.0 * room;
    let scale = Scale {
        low,
        high,
        steps: moments.len(),
        focus: wild.then_some((true_low, true_high)),
    };
    let place = match history.line {
        Some(line) => format!("at each visit of line {line}"),
        None => "at each stop".into(),
    };
    let mut plot = scale.plot(format!("True and shown values of {variable} {place}"));
    plot.grid = scale.grid(plain);
    let line = |values: &[Option<f64>]| {
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .filter_map(|(place, value)| {
                Some(format!(
                    "{},{}",
                    short(scale.x(place)),
                    short(scale.y((*value)?))
                ))
            })
            .collect();
        points.join(" ")
    };
    plot.series.push(Series {
        name: "true",
        class: "truth",
        points: line(&truth),
    });
    plot.series.push(Series {
        name: "shown",
        class: "shown",
        points: line(&shown),
    });
    for (place, moment) in moments.iter().enumerate() {
        let height = shown.get(place).copied().flatten();
        let fallback = truth.get(place).copied().flatten();
        let Some(height) = height.or(fallback) else {
            continue;
        };
        plot.dots.push(Dot {
            x: short(scale.x(place)),
            y: short(scale.y(height)),
            class: class_name(moment.class),
            title: format!(
                "visit {} of line {}: true {}, shown {}",
                moment.visit,
                moment.line,
                moment.truth.as_deref().unwrap_or("unknown"),
                moment.shown
            ),
        });
    }
    let visit = |moment: Option<&candor_check::exhibit::Moment>| match moment {
        Some(moment) if history.line.is_some() => format!("visit {}", moment.visit),
        Some(moment) => format!("stop {}", moment.stop + 1),
        None => String::new(),
    };
    plot.x_labels = ends(&scale, &visit(moments.first()), &visit(moments.last()));
    Some(plot)
}

/// Numbers too long for a label are given in powers of ten.
fn plain(value: f64) -> String {
    if value.abs() >= 1e7 || (value != 0.0 && value.abs() < 1e-3) {
        format!("{value:.1e}")
    } else {
        short(value)
    }
}

fn numeric(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The CSS class of what became of a value.
pub(crate) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Equal => "equal",
        Class::Unaligned => "unaligned",
        Class::OptimisedOut => "out",
        Class::Unreadable => "unreadable",
        Class::IllFormed => "ill",
        Class::Wrong => "wrong",
    }
}

#[cfg(test)]
mod tests {
    use candor_check::exhibit::Moment;

    use super::*;

    fn moment(visit: u32, truth: &str, shown: &str, class: Class) -> Moment {
        Moment {
            stop: u64::from(visit) - 1,
            line: 9,
            visit,
            truth: Some(truth.into()),
            shown: shown.into(),
            class,
        }
    }

    #[test]
    fn a_history_has_both_lines_and_a_dot_for_each_moment() {
        let seen = History {
            line: Some(9),
            total: 3,
            moments: vec![
                moment(1, "12", "12", Class::Equal),
                moment(2, "10", "1431655775", Class::Wrong),
                moment(3, "8", "<optimised out>", Class::OptimisedOut),
            ],
        };
        let plot = history(&seen, "i").unwrap();
        assert_eq!(plot.dots.len(), 3);
        assert_eq!(plot.dots[1].class, "wrong");
        assert!(plot.dots[1].title.contains("true 10, shown 1431655775"));
        assert_eq!(plot.series[0].points.split(' ').count(), 3);
        // the wild value is at the top, and the true ones are still apart
        assert_eq!(plot.dots[1].y, "10");
        assert_ne!(plot.dots[0].y, plot.dots[2].y);
        let labels: Vec<&str> = plot.grid.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(labels, ["8", "12", "1.4e9"]);
        // what is not a number leaves a gap
        assert_eq!(plot.series[1].points.split(' ').count(), 2);
    }

    #[test]
    fn what_cannot_be_plotted_is_not() {
        let pointers = History {
            line: None,
            total: 2,
            moments: vec![
                moment(1, "&g", "0x0", Class::Wrong),
                moment(2, "&g", "&g", Class::Equal),
            ],
        };
        assert_eq!(history(&pointers, "p"), None);
        assert_eq!(history(&History::default(), "p"), None);
        let not_finite = History {
            line: None,
            total: 2,
            moments: vec![
                moment(1, "inf", "NaN", Class::Wrong),
                moment(2, "inf", "1", Class::Wrong),
            ],
        };
        assert_eq!(history(&not_finite, "x"), None);
    }
}
