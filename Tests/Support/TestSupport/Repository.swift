public import Foundation

/// The checkout that the tests were built from.
public enum Repository {
    /// The root folder: the nearest folder above this file that contains `Package.swift`.
    public static let root: URL = {
        var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        while folder.path != "/" {
            let manifest = folder.appendingPathComponent("Package.swift").path
            if FileManager.default.fileExists(atPath: manifest) { return folder }
            folder.deleteLastPathComponent()
        }
        preconditionFailure("no Package.swift above \(#filePath)")
    }()

    /// The path of a file below `Tests/Support/Fixtures`.
    public static func fixture(_ path: String) -> String {
        root.appendingPathComponent("Tests/Support/Fixtures").appendingPathComponent(path).path
    }
}
