/// The settings as a tree of keys, as the file nests them.
struct SettingTree {
    private let byPath: [String: Setting]
    private let sections: Set<String>

    init() {
        byPath = Dictionary(Settings.all.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        var sections: Set<String> = [""]
        for setting in Settings.all {
            var parts = setting.path.split(separator: ".")
            while parts.popLast() != nil, !parts.isEmpty { sections.insert(parts.joined(separator: ".")) }
        }
        self.sections = sections
    }

    enum Place {
        case section
        /// `projects`, whose keys are the user's project ids.
        case projects
        case setting(Setting)
        /// An unknown key, with the path of the nearest key that exists.
        case unknown(nearest: String?)
    }

    func place(of path: [String]) -> Place {
        let general = Self.generalised(path)
        let key = general.joined(separator: ".")
        if key == "projects" { return .projects }
        if let setting = byPath[key] { return .setting(setting) }
        if sections.contains(key) { return .section }
        return .unknown(nearest: nearest(path, general))
    }

    /// Looks among the siblings first, since most typing errors are in the last word; then in all sections.
    private func nearest(_ path: [String], _ general: [String]) -> String? {
        guard let last = path.last else { return nil }
        let parent = general.dropLast().joined(separator: ".")
        let known = Set(byPath.keys).union(sections).filter { $0 != "" && !$0.hasSuffix("*") }
        let siblings = known.filter { Self.parent($0) == parent }
        let found = NearestKey.find(last, among: siblings) ?? NearestKey.find(last, among: known)
        guard let found else { return nil }
        return path.count > 1 && path[0] == "projects" ? found.replacing("*", with: path[1]) : found
    }

    private static func parent(_ path: String) -> String {
        path.split(separator: ".").dropLast().joined(separator: ".")
    }

    private static func generalised(_ path: [String]) -> [String] {
        guard path.count > 1, path[0] == "projects" else { return path }
        var general = path
        general[1] = "*"
        return general
    }
}
