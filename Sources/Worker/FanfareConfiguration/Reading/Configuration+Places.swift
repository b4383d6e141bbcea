internal import Glibc

extension Configuration {
    /// Where a configuration file is looked for that neither a flag nor a variable names, the first place first.
    static let usualFiles = ["./fanfare.yaml", "/etc/fanfare/fanfare.yaml"]

    /// The same places, for messages.
    public static let places = usualFiles.joined(separator: ", then ")

    /// The first of the usual files that exists, readable or not.
    public static func findFile() -> String? {
        var status = stat()
        // A link that leads nowhere is a mistake to report, not an absent file.
        return usualFiles.first { lstat($0, &status) == 0 }
    }
}
