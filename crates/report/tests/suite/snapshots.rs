//! What is printed, word for word. Renew with INSTA_UPDATE=always.

use candor_report::{Tracker, finding_page, overview_page, terminal, tracker};

use crate::fixture;

#[test]
fn the_terminal_summary() {
    insta::assert_snapshot!(terminal(&fixture::overview()));
}

#[test]
fn the_text_for_gccs_bugzilla() {
    insta::assert_snapshot!(tracker(&fixture::dossier(), Tracker::Gcc));
}

#[test]
fn the_text_for_llvms_issues() {
    insta::assert_snapshot!(tracker(&fixture::dossier(), Tracker::Llvm));
}

#[test]
fn the_text_without_an_exhibit_or_a_culprit() {
    let mut dossier = fixture::dossier();
    dossier.exhibit = None;
    dossier.culprit = None;
    dossier.builds.clear();
    insta::assert_snapshot!(tracker(&dossier, Tracker::Gcc));
}

#[test]
fn the_page_of_a_finding() {
    insta::assert_snapshot!(
        finding_page(&fixture::overview(), &fixture::dossier(), false).unwrap()
    );
}

#[test]
fn the_overview() {
    insta::assert_snapshot!(overview_page(&fixture::overview(), false).unwrap());
}
