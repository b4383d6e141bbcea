/// The version of everything that is built from this package.
public enum FanfareVersion {
    public static let current = "0.1.0"
}
