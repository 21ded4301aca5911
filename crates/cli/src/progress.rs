//! Progress on a terminal; silence everywhere else.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A spinner on standard error, for terminals only.
pub fn progress_bar(quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    // hidden by itself when standard error is not a terminal
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
