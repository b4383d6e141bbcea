/// The files of the time zone database, which Debian's package `tzdata` installs.
public enum ZoneFiles {
    static let folder = "/usr/share/zoneinfo"
    private static let mostBytes = 65_536

    /// The bytes of a zone's file.
    ///
    /// - Parameter zone: a name that `SendWindow` has checked: a relative path without dots.
    /// - Throws: with a reason that names the remedy.
    public static func read(_ zone: String) throws(FileReader.Failure) -> [UInt8] {
        do throws(FileReader.Failure) {
            return try FileReader.read("\(folder)/\(zone)", limit: mostBytes).bytes
        } catch  where error.isMissing {
            throw FileReader.Failure(reason: "is not in \(folder): correct its name, or install tzdata")
        }
    }
}
