//! Whole reductions: planted crashes, hangs and wrong code, and what is refused at the start.

#![allow(clippy::unwrap_used)]

mod world;

use candor_predicate::{Case, Claim, Manner};
use candor_reduce::{Error, Settings, Stopped};
use world::{compiler, planted, program, reduced, with_tools};

/// A program with a lot around what matters: `deep` divides by three inside a loop.
const PROGRAM: &str = r#"
#include <stdio.h>
struct pair { int left; long right; };
static struct pair pairs[3] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
static unsigned int mix(unsigned int seed, int rounds) {
  for (int i = 0; i < rounds; i++) {
    seed = seed * 1664525u + 1013904223u;
  }
  return seed;
}
static int deep(int value, int unused) {
  int result = 0;
  while (value > 10) {
    if (value % 2 == 0) {
      result += value / 3;
    } else {
      result -= 1;
    }
    value = value - 7;
  }
  return result;
}
static long sum(void) {
  long total = 0;
  for (int i = 0; i < 3; i++) total += pairs[i].left + pairs[i].right;
  return total;
}
int main(void) {
  unsigned int seed = mix(42, 3);
  printf("%u %ld\n", seed & 1, sum());
  printf("%d\n", deep(100, 4));
  return 0;
}
"#;

#[test]
fn a_crash_keeps_its_site_and_little_else() {
    with_tools(|tools| {
        let directory = tempfile::tempdir().unwrap();
        // two planted crashes: the other one must not take over
        let command = planted(
            directory.path(),
            "if grep -q 'while' $source && grep -q '/ 3' $source; then\n\
             echo \"prog.c:1:1: internal compiler error: in fold_division, at fold.cc:42\" >&2; exit 4; fi\n\
             if grep -q '/ 3' $source; then\n\
             echo \"prog.c:1:1: internal compiler error: in other_place, at other.cc:7\" >&2; exit 4; fi",
        );
        let compiler = compiler(tools, &command.display().to_string());
        let claim = Claim::Crash {
            site: String::new(),
        };
        let case = Case::new(&program(PROGRAM), &compiler, vec!["-O2".into()], claim);
        let kept = directory.path().join("tried");
        let settings = Settings {
            keep_tried: Some(kept.clone()),
            ..Settings::default()
        };
        let reduction = reduced(tools, &case, &compiler, &settings).unwrap();
        let text = &reduction.case.program.text;
        assert!(text.contains("while") && text.contains("/ 3"), "{text}");
        assert!(reduction.after.tokens <= 30, "{text}");
        match &reduction.case.claim {
            Claim::Crash { site } => assert!(site.contains("fold.cc:42"), "{site}"),
            other => panic!("{other}"),
        }
        // every candidate is there, with its verdict, and one of them fails
        let index = std::fs::read_to_string(kept.join("tried.jsonl")).unwrap();
        assert_eq!(index.lines().count(), reduction.tally.tried);
        assert!(index.contains("\"verdict\":\"fails\""), "{index}");
        assert!(kept.read_dir().unwrap().count() > reduction.tally.tried);
        // the same with another number of jobs
        let one = Settings {
            jobs: 1,
            ..Settings::default()
        };
        let again = reduced(tools, &case, &compiler, &one).unwrap();
        assert_eq!(&again.case.program.text, text);
        // no time at all: nothing is tried, nothing is lost
        let settings = Settings {
            budget: Some(std::time::Duration::ZERO),
            ..Settings::default()
        };
        let reduction = reduced(tools, &case, &compiler, &settings).unwrap();
        assert!(matches!(reduction.stopped, Some(Stopped::TimeUp)));
        assert_eq!(reduction.case.program.text, PROGRAM);
    });
}

#[test]
fn wrong_code_is_reduced_and_stays_defined() {
    with_tools(|tools| {
        let directory = tempfile::tempdir().unwrap();
        // -O2 divides by five where the source says three
        let command = planted(
            directory.path(),
            "case \" $* \" in *\" -O2 \"*) sed -i 's|/ 3|/ 5|' $source;; esac",
        );
        let compiler = compiler(tools, &command.display().to_string());
        let claim = Claim::Miscompilation {
            against: vec!["-O0".into()],
            reference: None,
            manner: None,
        };
        let case = Case::new(&program(PROGRAM), &compiler, vec!["-O2".into()], claim);
        let reduction = reduced(tools, &case, &compiler, &Settings::default()).unwrap();
        let text = &reduction.case.program.text;
        assert!(text.contains("/ 3"), "{text}");
        assert!(reduction.after.lines <= 12, "{text}");
        assert!(reduction.verified.is_some());
        match &reduction.case.claim {
            // wrong output did not become a wrong exit status on the way
            Claim::Miscompilation { manner, .. } => assert_eq!(*manner, Some(Manner::Output)),
            other => panic!("{other}"),
        }
    });
}

/// A variant of `candor mutate`: whole snippets go before any text does, and the seed is not needed on
/// disk.
#[test]
fn a_variant_loses_its_snippets_first() {
    with_tools(|tools| {
        let directory = tempfile::tempdir().unwrap();
        let command = planted(
            directory.path(),
            "case \" $* \" in *\" -O2 \"*) sed -i 's|/ 3|/ 5|' $source;; esac",
        );
        let compiler = compiler(tools, &command.display().to_string());
        let seed = "int printf(const char *, ...);\nint main(void) {\n  int a = 30;\n  printf(\"%d\\n\", a);\n  return 0;\n}\n";
        let at = seed.find("  printf").unwrap();
        let texts = [
            "if (a < 0) { a = 1; } ",
            "a = a / 3; ",
            "if (a > 99) { a++; } ",
        ];
        let snippets: Vec<serde_json::Value> = texts
            .iter()
            .enumerate()
            .map(|(id, text)| {
                serde_json::json!({
                    "id": id, "strategy": "fcb", "point": 0, "line": 4, "column": 1,
                    "range": {"start": at, "end": at}, "text": text, "hits": 1,
                })
            })
            .collect();
        let fingerprint = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let record = serde_json::json!({
            "format": 1, "program": "gone.c", "fingerprint": format!("{fingerprint:016x}"),
            "flags": [], "arguments": [], "seed": 1, "number": 1, "snippets": snippets,
        });
        let variant: candor_mutate::Variant = serde_json::from_value(record.clone()).unwrap();
        let text = variant.text(seed).unwrap();
        assert!(texts.iter().all(|snippet| text.contains(snippet)), "{text}");
        let claim = Claim::Miscompilation {
            against: vec!["-O0".into()],
            reference: None,
            manner: None,
        };
        let case = Case::new(&program(&text), &compiler, vec!["-O2".into()], claim)
            .with_variant(record.clone(), seed);
        let reduction = reduced(tools, &case, &compiler, &Settings::default()).unwrap();
        let note = "1 of 3 inserted snippets stay";
        assert!(
            reduction.notes.iter().any(|said| said == note),
            "{:?}",
            reduction.notes
        );
        assert!(reduction.case.program.text.contains("/ 3"));
        assert_eq!(reduction.case.variant, None);

        // a record of another program is refused in words
        let case = case.with_variant(record, "int main(void) { return 0; }\n");
        let error = reduced(tools, &case, &compiler, &Settings::default()).unwrap_err();
        assert!(matches!(error, Error::Variant { .. }), "{error}");
    });
}

#[test]
fn what_is_not_there_flaky_or_not_c_is_refused() {
    with_tools(|tools| {
        let directory = tempfile::tempdir().unwrap();
        let gcc = compiler(tools, "gcc-12");
        let wrong = |reference: &[&str]| Claim::Miscompilation {
            against: reference.iter().map(|flag| (*flag).to_owned()).collect(),
            reference: None,
            manner: None,
        };
        let settings = Settings::default();
        let level = || vec!["-O2".to_owned()];

        let case = Case::new(&program(PROGRAM), &gcc, level(), wrong(&["-O0"]));
        let error = reduced(tools, &case, &gcc, &settings).unwrap_err();
        assert!(matches!(error, Error::NotThere { .. }), "{error}");
        assert!(
            error.to_string().contains("both builds end alike"),
            "{error}"
        );

        let undefined =
            "#include <stdio.h>\nint main(void) { int a; printf(\"%d\\n\", a); return 0; }\n";
        let case = Case::new(&program(undefined), &gcc, level(), wrong(&["-O0"]));
        let error = reduced(tools, &case, &gcc, &settings).unwrap_err();
        assert!(matches!(error, Error::NotThere { .. }), "{error}");

        let text = "Dear compiler,\nthis is a letter.\n";
        let case = Case::new(
            &program(text),
            &gcc,
            level(),
            Claim::Crash {
                site: String::new(),
            },
        );
        let error = reduced(tools, &case, &gcc, &settings).unwrap_err();
        assert!(matches!(error, Error::NotC { .. }), "{error}");

        // yes, no, yes, no
        let script = directory.path().join("flaky.sh");
        let state = directory.path().join("state");
        std::fs::write(
            &script,
            format!(
                "#!/bin/sh\nif [ -e {0} ]; then rm {0}; exit 1; fi\ntouch {0}\n",
                state.display()
            ),
        )
        .unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let claim = Claim::Command { path: script };
        let case = Case::new(&program(PROGRAM), &gcc, level(), claim);
        let error = reduced(tools, &case, &gcc, &settings).unwrap_err();
        assert!(matches!(error, Error::Flaky { .. }), "{error}");
    });
}

#[test]
fn a_hang_is_reduced() {
    with_tools(|tools| {
        let directory = tempfile::tempdir().unwrap();
        let command = planted(
            directory.path(),
            "if grep -q 'total' $source; then while :; do :; done; fi",
        );
        let compiler = compiler(tools, &command.display().to_string());
        let claim = Claim::Hang { seconds: 1 };
        let text = "int total;\nint spare;\nint main(void) { total = 1; spare = 2; return 0; }\n";
        let case = Case::new(&program(text), &compiler, vec!["-O2".into()], claim);
        let reduction = reduced(tools, &case, &compiler, &Settings::default()).unwrap();
        let text = &reduction.case.program.text;
        assert!(reduction.after.tokens < reduction.before.tokens, "{text}");
        assert!(text.contains("total"), "{text}");
    });
}
