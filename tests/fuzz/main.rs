//! Fuzzers over everything that reads foreign bytes: inputs are made from a corpus by chance, and what must hold of every
//! answer is checked.
//!
//! Without arguments: the short slice of each target, the same in every run. `fuzz TARGET… [--time SECS] [--seed N]` goes
//! on for that long; `fuzz TARGET --input FILE` tries one input again. An input that fails is made smaller and kept.

#[path = "../truth/grammar.rs"]
mod grammar;
mod mutate;
#[path = "../truth/rarer.rs"]
mod rarer;
mod targets;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use targets::{Ground, TARGETS, Target};

/// As the hook has it.
const STACK: usize = 64 << 20;
/// An input that takes longer, on a machine that does other work too, hangs.
const HANGS: Duration = Duration::from_secs(120);
/// Made inputs that are kept to be changed further.
const POOL: usize = 4096;

/// What the command line asks for.
struct Asked {
    targets: Vec<&'static Target>,
    time: Option<Duration>,
    seed: u64,
    input: Option<PathBuf>,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked { targets: Vec::new(), time: None, seed: 1, input: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word}: expected a value"));
        let number = |text: String| text.parse().map_err(|_| format!("expected a number, found {text}"));
        match word.as_str() {
            "--time" => asked.time = Some(Duration::from_secs(number(value()?)?)),
            "--seed" => asked.seed = number(value()?)?,
            "--input" => asked.input = Some(value()?.into()),
            name => match TARGETS.iter().find(|target| target.name == name) {
                Some(target) => asked.targets.push(target),
                None => {
                    return Err(format!("{name}: expected --time, --seed, --input or one of {:?}", names()));
                }
            },
        }
    }
    if asked.targets.is_empty() {
        asked.targets = TARGETS.iter().collect();
    }
    Ok(asked)
}

fn names() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("fuzz: {error}");
            return ExitCode::from(64);
        }
    };
    let beat = Arc::new(AtomicU64::new(0));
    watch(beat.clone());
    let work =
        std::thread::Builder::new().stack_size(STACK).spawn(move || run(&asked, &beat)).expect("a thread");
    match work.join() {
        Ok(0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Ends the process if nothing moves any more.
fn watch(beat: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut seen = u64::MAX;
        loop {
            let now = beat.load(Ordering::Relaxed);
            if now == seen {
                eprintln!("fuzz: an input takes more than {HANGS:?}: it lies in {}", kept().display());
                std::process::exit(1);
            }
            seen = now;
            std::thread::sleep(HANGS);
        }
    });
}

/// Runs what is asked for; gives the number of failures.
fn run(asked: &Asked, beat: &AtomicU64) -> usize {
    let ground = Ground::new();
    let silent = panic::take_hook();
    // A panic that is caught is told by us.
    panic::set_hook(Box::new(|_| ()));
    let failures = asked.targets.iter().filter(|target| !fuzz(target, asked, &ground, beat)).count();
    panic::set_hook(silent);
    failures
}

/// `true`: nothing was found.
fn fuzz(target: &Target, asked: &Asked, ground: &Ground, beat: &AtomicU64) -> bool {
    if let Some(file) = &asked.input {
        let input = fs::read(file).expect("the input");
        let outcome = tried(target, ground, &input);
        println!("{}: {}", target.name, outcome.as_ref().err().map_or("holds", |what| what));
        return outcome.is_ok();
    }
    let corpus = (target.corpus)();
    let mut pool = corpus.clone();
    let mut rng = Rng::with_seed(asked.seed);
    let began = Instant::now();
    let current = kept().join(format!("{}-current", target.name));
    let mut count = 0_usize;
    loop {
        let done = match asked.time {
            Some(time) => began.elapsed() >= time,
            None => count >= target.slice,
        };
        if done {
            break;
        }
        let mut input = if rng.u8(..4) == 0 { rng.choice(&corpus) } else { rng.choice(&pool) }
            .cloned()
            .unwrap_or_default();
        mutate::mutate(&mut rng, &mut input, &corpus, target.words);
        // What ends the whole process leaves its input behind.
        let _ = fs::write(&current, &input);
        beat.fetch_add(1, Ordering::Relaxed);
        count += 1;
        if let Err(what) = tried(target, ground, &input) {
            report(target, ground, input, &what);
            return false;
        }
        if pool.len() < POOL {
            pool.push(input);
        } else {
            let at = rng.usize(..POOL);
            pool[at] = input;
        }
    }
    let _ = fs::remove_file(&current);
    println!(
        "{}: {count} inputs from seed {} in {:.0?}, nothing found",
        target.name,
        asked.seed,
        began.elapsed()
    );
    true
}

/// What is wrong with the answer to an input, panics included.
fn tried(target: &Target, ground: &Ground, input: &[u8]) -> Result<(), String> {
    match panic::catch_unwind(AssertUnwindSafe(|| (target.check)(ground, input))) {
        Ok(outcome) => outcome,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("it panicked: {}", text.unwrap_or_default()))
        }
    }
}

fn report(target: &Target, ground: &Ground, input: Vec<u8>, what: &str) {
    let smaller = mutate::shrunk(input, |input| tried(target, ground, input).is_err());
    let now = tried(target, ground, &smaller).err().unwrap_or_else(|| what.to_owned());
    let mut hasher = DefaultHasher::new();
    smaller.hash(&mut hasher);
    let file = kept().join(format!("{}-{:016x}", target.name, hasher.finish()));
    let saved = fs::write(&file, &smaller);
    println!("{}: {now}\n--- input\n{}\n---", target.name, String::from_utf8_lossy(&smaller));
    match saved {
        Ok(()) => println!("try it again: cargo xtask fuzz {} --input {}", target.name, file.display()),
        Err(error) => println!("{}: {error}", file.display()),
    }
}

/// Where inputs are kept.
fn kept() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let dir = target.join("fuzz");
    let _ = fs::create_dir_all(&dir);
    dir
}
