internal import BenchKit
internal import Foundation

exit(Harness.main(Array(CommandLine.arguments.dropFirst())))
