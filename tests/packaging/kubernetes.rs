//! The DaemonSet that guards pods from the node: does it ask for what `attach` takes, and for nothing that is not there?

use std::collections::BTreeSet;

use yaml_rust2::Yaml;

use crate::formats::{packaging, yaml};

fn manifest(name: &str) -> Yaml {
    yaml(&format!("kubernetes/{name}"))
}

fn list(yaml: &Yaml) -> &[Yaml] {
    yaml.as_vec().unwrap_or_else(|| panic!("no list: {yaml:?}"))
}

fn text(yaml: &Yaml) -> &str {
    yaml.as_str().unwrap_or_else(|| panic!("no text: {yaml:?}"))
}

fn names<'y>(of: &'y Yaml, key: &str) -> BTreeSet<&'y str> {
    list(of).iter().map(|one| text(&one[key])).collect()
}

/// The pod of the DaemonSet.
fn pod() -> Yaml {
    manifest("daemonset.yaml")["spec"]["template"]["spec"].clone()
}

fn containers(pod: &Yaml) -> impl Iterator<Item = &Yaml> {
    list(&pod["initContainers"]).iter().chain(list(&pod["containers"]))
}

/// The API server takes a DaemonSet only with these, and this one changes nothing but the node's processes.
#[test]
fn the_daemon_set_has_what_one_must_have() {
    let set = manifest("daemonset.yaml");
    assert_eq!((set["apiVersion"].as_str(), set["kind"].as_str()), (Some("apps/v1"), Some("DaemonSet")));
    assert!(set["metadata"]["name"].as_str().is_some());
    let wanted = set["spec"]["selector"]["matchLabels"].as_hash().expect("a selector");
    assert!(!wanted.is_empty());
    for (label, value) in wanted {
        let own = &set["spec"]["template"]["metadata"]["labels"];
        assert_eq!(&own[text(label)], value, "the selector does not find its own pods");
    }
    let pod = pod();
    assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false), "it speaks to no API server");
    assert_ne!(pod["hostNetwork"].as_bool(), Some(true));
    for container in containers(&pod) {
        assert!(container["name"].as_str().is_some() && container["image"].as_str().is_some());
        assert!(!list(&container["command"]).is_empty(), "the image's own entry point is another");
        assert_ne!(container["securityContext"]["privileged"].as_bool(), Some(true));
    }
}

/// `attach` names processes by their numbers on the node, and leaves programs and locks where the next guard finds them.
#[test]
fn the_daemon_set_sees_the_nodes_processes_and_leaves_its_programs_with_the_node() {
    let pod = pod();
    assert_eq!(pod["hostPID"].as_bool(), Some(true));
    let volumes = names(&pod["volumes"], "name");
    for container in containers(&pod) {
        assert_eq!(names(&container["volumeMounts"], "name"), volumes, "mounts and volumes differ");
    }
    let kept = |path: &str| {
        let volume =
            list(&pod["volumes"]).iter().find(|volume| volume["hostPath"]["path"].as_str() == Some(path));
        let name = volume.and_then(|volume| volume["name"].as_str());
        let name = name.unwrap_or_else(|| panic!("{path} would go with the pod"));
        containers(&pod).all(|container| {
            let mut mounts = list(&container["volumeMounts"]).iter();
            mounts.any(|mount| {
                mount["name"].as_str() == Some(name) && mount["mountPath"].as_str() == Some(path)
            })
        })
    };
    assert!(kept("/sys/fs/bpf"));
    for container in containers(&pod) {
        let environment = list(&container["env"]);
        let state = environment.iter().find(|variable| variable["name"].as_str() == Some("XDG_STATE_HOME"));
        assert!(kept(text(&state.expect("a place for the log")["value"])), "the log would go with the pod");
    }
}

/// What the page on containers says that the kernel rung takes.
#[test]
fn the_daemon_set_has_the_capabilities_of_the_kernel_rung() {
    let page = std::fs::read_to_string(packaging().join("../docs/use-container.md")).expect("readable");
    let asked: Vec<&str> =
        page.split("--cap-add ").skip(1).filter_map(|rest| rest.split([' ', '`']).next()).collect();
    assert!(asked.len() >= 3, "{asked:?}");
    for container in containers(&pod()) {
        let rights = &container["securityContext"]["capabilities"];
        let added: BTreeSet<&str> = list(&rights["add"]).iter().map(text).collect();
        assert!(asked.iter().all(|capability| added.contains(capability)), "{asked:?} in {added:?}");
        assert_eq!(list(&rights["drop"]).iter().map(text).collect::<Vec<_>>(), ["ALL"]);
    }
}

#[test]
fn kustomize_finds_every_file_and_makes_what_the_daemon_set_mounts() {
    let kustomization = manifest("kustomization.yaml");
    let there = |file: &Yaml| packaging().join("kubernetes").join(text(file)).is_file();
    assert!(list(&kustomization["resources"]).iter().all(there));
    let made = list(&kustomization["configMapGenerator"]);
    assert!(made.iter().all(|map| list(&map["files"]).iter().all(there)));
    let pod = pod();
    let mounted: Vec<&str> =
        list(&pod["volumes"]).iter().filter_map(|volume| volume["configMap"]["name"].as_str()).collect();
    assert_eq!(mounted, made.iter().map(|map| text(&map["name"])).collect::<Vec<_>>());
    let image = &list(&kustomization["images"])[0];
    assert_eq!(image["newTag"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    assert!(containers(&pod).all(|container| container["image"] == image["name"]));
    let namespace = manifest("namespace.yaml");
    assert_eq!(namespace["metadata"]["name"], kustomization["namespace"]);
    let admitted = &namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
    assert_eq!(admitted.as_str(), Some("privileged"), "no lesser profile admits hostPID");
}

/// A pod that follows the example must be found by the script, and have a scope.
#[test]
fn the_example_pod_asks_by_the_mark_that_the_script_looks_for() {
    let script = std::fs::read_to_string(packaging().join("kubernetes/attach-pods.sh")).expect("readable");
    let example = manifest("example-pod.yaml");
    assert_eq!((example["apiVersion"].as_str(), example["kind"].as_str()), (Some("v1"), Some("Pod")));
    for container in list(&example["spec"]["containers"]) {
        let marked = list(&container["env"]).iter().any(|variable| {
            let mark = format!("{}={}", text(&variable["name"]), text(&variable["value"]));
            script.contains(&format!("mark=${{GUARD_MARK:-{mark}}}\n"))
        });
        assert!(marked, "no variable of it is the mark");
        assert!(
            text(&container["workingDir"]).matches('/').count() >= 2,
            "directly below the root is no scope"
        );
    }
}
