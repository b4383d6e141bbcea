import Foundation
import TestSupport
import Testing

/// The samples of the pages "ReceivingOnApple" and "ReceivingOnAppleForms", compiled and called.
extension ReceivingOnApple {
    /// Which of the two forms that Swift has for a callback.
    enum Forms: CaseIterable { case first, other }

    /// Declarations that repeat the signatures of Apple's and Google's libraries, and a driver that plays the system.
    static let fixtures = Documentation.root.appendingPathComponent("Tests/Support/Fixtures/apple")

    @Test("R3 R4 R5 R6 R8 R11 R14 R15 R21 R22: the samples in Swift, called", arguments: Forms.allCases)
    func samples(_ forms: Forms) throws {
        let program = try AppleProgram(samples: Self.swift(forms), isOther: forms == .other)
        var expected = [
            // The delegate is there, and kept, when the launch ends; so are the actions and the registration with APNs.
            #"launched true true true ["NEW_MESSAGE_CATEGORY: [\"REPLY\", \"LATER\"]"]"#,
            "token [7]",
            // Each callback tells Analytics once.
            #"in front: ["banner", "list", "sound", "badge"], told 1, exported 0"#,
            #"in front: ["list"], told 2, exported 0"#,
            #"tap: ["b by REPLY"], told 3, exported 0"#,
            "silent 1:0: newData, told 4, exported 1",
            "silent 1:0: noData, told 5, exported 2",
            "silent unreachable: failed, told 6, exported 3",
            "tapped: noData, told 7, exported 3",
        ]
        if forms == .first {
            // The extension ends with a content, also when the picture does not come in time.
            expected += ["service: slow false, true, told 7, exported 4"]
            expected += ["service: slow true, true, told 7, exported 5"]
        }
        #expect(try program.run() == expected)
    }

    @Test("R4 R5 R6 R11 R14 R15 R21 R22: the sample in Objective-C compiles, for iOS 13")
    func objectiveC() throws {
        let sample = try #require(try Documentation.blocks("objc", on: "ReceivingOnAppleForms").first)
        let folder = try TemporaryFolder()
        let file = try folder.write("AppDelegate.m", sample)
        let headers = Self.fixtures.appendingPathComponent("Headers").path
        try runProgram(
            "/usr/bin/env",
            ["clang", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
                + ["-target", "arm64-apple-ios13.0", "-fobjc-arc", "-nostdinc", "-isystem", headers, file]
        )
    }

    @Test("R18 R19 R20: the page names Apple's conditions, and when the app does the library's work")
    func mentioned() throws {
        let page = try Documentation.page("ReceivingOnApple")
        for word in [
            "Silent pushes are best effort", "low power mode", "swiped away",
            "`FirebaseAppDelegateProxyEnabled` to `NO`", "SwiftUI", "links the APNs token to the FCM token",
            "tells Analytics of each message",
        ] {
            #expect(page.replacing("\n", with: " ").contains(word), "\(word)")
        }
    }

    /// The samples of one set of forms, each a file of its own; a sample without imports belongs to the one before it.
    static func swift(_ forms: Forms) throws -> [String] {
        let first = try Documentation.blocks("swift", on: "ReceivingOnApple")
        let other = try Documentation.blocks("swift", on: "ReceivingOnAppleForms")
        #expect(first.count == 7 && other.count == 2)
        let imports = ["FanfareReceiving", "FirebaseMessaging", "UIKit", "UserNotifications"]
            .map { "import \($0)\n" }.joined()
        var samples = first
        if forms == .other {
            // In place of the callbacks that the first page has in their other form.
            samples = first.filter { !$0.contains("willPresent") && !$0.contains("UIBackgroundFetchResult") }
            #expect(samples.count == first.count - 2)
            samples += other
        }
        return samples.map { sample in
            guard !sample.hasPrefix("import") else { return sample }
            guard !sample.hasPrefix("let") else {
                return imports + "func sample(notification: UNNotification, payloadBytes: [UInt8]) throws {\n\(sample)"
                    + "_ = (live, recorded)\n}\n"
            }
            return imports + sample
        }
    }
}

/// Samples with what they need, as an executable for this machine.
private struct AppleProgram {
    private static let settings = [
        "-swift-version", "6", "-warnings-as-errors", "-parse-as-library", "-wmo",
        "-enable-upcoming-feature", "InternalImportsByDefault", "-enable-upcoming-feature", "ExistentialAny",
    ]

    private let folder: TemporaryFolder
    private let isOther: Bool

    init(samples: [String], isOther: Bool) throws {
        folder = try TemporaryFolder()
        self.isOther = isOther
        let fixtures = ReceivingOnApple.fixtures
        for (floor, name) in [("Core", "FanfareJSON"), ("Clients", "FanfareReceiving")] {
            let sources = Documentation.root.appendingPathComponent("Sources/\(floor)/\(name)")
            let files = try FileManager.default.contentsOfDirectory(atPath: sources.path)
                .filter { $0.hasSuffix(".swift") }.map { sources.appendingPathComponent($0).path }
            // As SwiftPM does: the targets of a package share declarations that apps do not see.
            try module(name, ["-package-name", "fanfare"] + files)
        }
        for name in ["UserNotifications", "UIKit", "FirebaseCore", "FirebaseMessaging"] {
            try module(name, [fixtures.appendingPathComponent("\(name).swift").path])
        }
        var files = ["App", "Driver"].map { fixtures.appendingPathComponent("\($0).swift").path }
        for (number, sample) in samples.enumerated() { files.append(try folder.write("Sample\(number).swift", sample)) }
        let objects = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".o") }
        try compile(["-module-name", "App", "-o", folder.file("app")] + files + objects.map { folder.file($0) })
    }

    /// What the program printed, line by line.
    func run() throws -> [String] {
        String(decoding: try runProgram(folder.file("app"), []), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func module(_ name: String, _ files: [String]) throws {
        try compile(
            ["-c", "-emit-module", "-emit-module-path", folder.file("\(name).swiftmodule"), "-module-name", name]
                + ["-o", folder.file("\(name).o")] + files
        )
    }

    private func compile(_ arguments: [String]) throws {
        let forms = isOther ? ["-D", "OTHER_FORMS"] : []
        try runProgram("/usr/bin/env", ["swiftc"] + Self.settings + forms + ["-I", folder.path] + arguments)
    }
}
