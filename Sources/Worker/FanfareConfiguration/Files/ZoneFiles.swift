public import FanfareCore

/// The files of the time zone database, which Debian's package `tzdata` installs.
public enum ZoneFiles {
    static let folder = "/usr/share/zoneinfo"
    private static let maximumBytes = 65_536

    /// Reads the rules of a zone.
    ///
    /// - Parameter zone: a name that `SendWindow` has checked: a relative path without dots.
    /// - Throws: with a reason that names the remedy.
    public static func rules(of zone: String) throws(ZoneFault) -> ZoneRules {
        let bytes: [UInt8]
        do throws(FileReader.Failure) {
            bytes = try FileReader.read("\(folder)/\(zone)", limit: maximumBytes).bytes
        } catch {
            let remedy = "is not in \(folder): correct its name, or install tzdata"
            throw ZoneFault(error.isMissing ? remedy : error.reason)
        }
        do throws(ZoneFault) { return try ZoneRules(bytes: bytes) } catch {
            throw ZoneFault("cannot be used: \(error.reason)")
        }
    }
}
